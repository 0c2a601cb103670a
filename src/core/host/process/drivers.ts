/** Chooses the driver for an instance's worker: one line for each kind of executor. */
import type { Executor } from '../../protocol/journal.ts'
import { compileCacheDirectory, type InstancePaths } from '../../store/home.ts'
import { DockerDriver } from '../../worker/docker/docker.ts'
import { makeFifos } from '../../worker/local/fifo.ts'
import { LocalDriver } from '../../worker/local/local.ts'
import type { Driver } from '../../worker/worker.ts'

export function driverFor(executor: Executor, paths: InstancePaths, home: string): Driver {
  switch (executor) {
    case 'local':
      return new LocalDriver(paths, { compileCache: compileCacheDirectory(home) })
    case 'docker':
      return new DockerDriver(paths, home)
  }
}

/** Makes what the first launch needs in the directory of an instance that is being created. What is missing the launch makes itself. */
export async function prepareLaunch(executor: Executor, paths: InstancePaths): Promise<void> {
  if (executor === 'local') await makeFifos([paths.stdin, paths.lifeline])
}
