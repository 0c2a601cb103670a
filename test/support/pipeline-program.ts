/** Runs a pipeline by its walks and kills itself before its n-th execution. Arguments: the log, n; 0 runs to the end and prints the result. */
import { acting, NESTED, runPipeline } from './pipeline-walks.ts'

const [, , file = '', kill = '0'] = process.argv
const acts = acting(['success', 'partial_success', 'success'])
let executions = 0

const { steps, ...result } = await runPipeline(
  NESTED['main.dot'] as string,
  async (execution) => {
    executions += 1
    if (executions === Number(kill)) process.kill(process.pid, 'SIGKILL')
    return await acts(execution)
  },
  { file, children: NESTED },
)
process.stdout.write(JSON.stringify({ ...result, acted: executions }))
