/** How other platforms name the tools that a session has (docs/sessions.md, Bundles). Pure. */

/** Names of Claude Code. A tool that is missing here can't be given. */
const OF_CLAUDE: Readonly<Record<string, readonly string[]>> = {
  Read: ['read'],
  NotebookRead: ['read'],
  LS: ['glob', 'read'],
  Glob: ['glob'],
  Grep: ['search'],
  Write: ['write'],
  Edit: ['edit'],
  MultiEdit: ['edit'],
  Bash: ['shell', 'jobs'],
  BashOutput: ['jobs'],
  KillBash: ['jobs'],
  KillShell: ['jobs'],
  TodoWrite: ['todo_list'],
  TaskCreate: ['todo_list'],
  TaskUpdate: ['todo_list'],
  WebFetch: ['fetch'],
  Skill: [],
  Task: [],
  Agent: [],
}

/** Modules of Amplifier that stand for something that each session has or can have. */
const MODULE = /^tool-(?:filesystem|bash|search|web|to-?do|delegate|task|skills|mcp)$/

export function isKnownModule(module: string): boolean {
  return MODULE.test(module)
}

/** The tools of a list as an agent of Claude Code has it: `Read, Bash(git log:*)`. */
export function toolsOfClaude(names: readonly string[]): { tools: string[]; unknown: string[] } {
  const tools = new Set<string>()
  const unknown = new Set<string>()
  for (const name of names) {
    const plain = name.replace(/\(.*$/s, '').trim()
    const known = Object.hasOwn(OF_CLAUDE, plain) ? OF_CLAUDE[plain] : undefined
    if (known === undefined && plain !== '') unknown.add(plain.slice(0, 64))
    for (const one of known ?? []) tools.add(one)
  }
  return { tools: [...tools], unknown: [...unknown] }
}
