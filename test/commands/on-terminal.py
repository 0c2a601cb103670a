"""Runs a program on a terminal of its own and types into it: on-terminal.py LIMIT_S JSON -- PROGRAM ARG…

JSON is a list of [text to wait for, keys to type]; an empty text waits for nothing. Everything the terminal showed goes to
stdout, the exit code of the program is ours.
"""
import fcntl, json, os, pty, select, signal, struct, sys, termios, time

limit, keys = float(sys.argv[1]), json.loads(sys.argv[2])
program = sys.argv[4:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(program[0], program)
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
shown, looked, end = b"", 0, time.time() + limit
while True:
    if keys and keys[0][0].encode() in shown[looked:]:
        looked = shown.index(keys[0][0].encode(), looked) + len(keys[0][0].encode())
        # A frame that was just drawn may not listen yet.
        time.sleep(0.3)
        typed = keys.pop(0)[1]
        if typed == "HANGUP":
            os.close(terminal)
            break
        os.write(terminal, typed.encode())
    if select.select([terminal], [], [], 0.05)[0]:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:
            break
        if not chunk:
            break
        shown += chunk
    if time.time() > end:
        os.kill(pid, signal.SIGKILL)
sys.stdout.buffer.write(shown)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) % 256)
