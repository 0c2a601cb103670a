/** Every forge with its double and the address of its repository. */
import type { ForgeName } from '../../../src/core/git/git-providers.ts'
import { azureDialect } from './azure.ts'
import { bitbucketDialect, bitbucketServerDialect } from './bitbucket.ts'
import type { Dialect } from './double.ts'
import { giteaDialect } from './gitea.ts'
import { githubDialect } from './github.ts'
import { gitlabDialect } from './gitlab.ts'

export const DOUBLES: Readonly<Record<ForgeName, { dialect: Dialect; path: string; account: string }>> = {
  github: { dialect: githubDialect, path: '/octo/repo.git', account: 'octo-bot' },
  gitlab: { dialect: gitlabDialect, path: '/group/sub/repo.git', account: 'lab-bot' },
  gitea: { dialect: giteaDialect, path: '/tea/repo.git', account: 'tea-bot' },
  bitbucket: { dialect: bitbucketDialect, path: '/space/repo.git', account: 'bucket-bot' },
  bitbucket_server: { dialect: bitbucketServerDialect, path: '/scm/PROJ/repo.git', account: 'server-bot' },
  azure: { dialect: azureDialect, path: '/org/project/_git/repo', account: 'azure-bot' },
}
