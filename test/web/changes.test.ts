/** The changes of an instance in the page: files and their differences, snapshots, pull requests, promotion (docs/git.md, The page). */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findings } from './findings.ts'
import { openRepoStand, type RepoStand, worked } from './repo-stand.ts'
import { newToken, openContext, signedIn, untilStatus } from './stand.ts'
import { describePage } from './support.ts'

const LIMIT = 90_000

const FILES = {
  'README.md': 'The gate is open.\nIt is old.\n',
  'src/old.txt': 'one\ntwo\nthree\nfour\nfive\nsix\n',
  'gone.txt': 'bye\n',
  '.github/workflows/ci.yml': 'on: push\n',
}

const FIRST = `sed -i 's/open/shut/' README.md; git mv src/old.txt src/new.txt; rm gone.txt; git add -A; git commit -qm 'Shut the gate'`

const rows = (page: Page) => page.getByRole('navigation', { name: 'Changed files' }).getByRole('link')
const lines = (page: Page) => page.getByRole('region', { name: 'Changed lines' })
const inserted = (page: Page) => lines(page).locator('.diff-code-insert')
const check = (page: Page, kind: string, text: string) => page.locator(`[data-check="${kind}"]`, { hasText: text })

describePage('the page: changes', () => {
  let stand: RepoStand

  beforeAll(async () => {
    stand = await openRepoStand(FILES)
    stand.upstream.create('tea/other', { 'b.txt': 'b\n' })
  }, LIMIT)
  afterAll(() => stand.close(), LIMIT)

  const open = (page: Page, id: string, search = '') =>
    page.goto(`${stand.server.url}/instances/${id}/changes${search}`)

  // verifies: S-CHANGES-01 S-CHANGES-02
  test(
    'a live run shows its files, each difference, snapshots and what was pushed; keys move in the list',
    async () => {
      const id = await worked(stand, {
        scripts: [FIRST, 'git push -q origin HEAD', 'echo more >> README.md; printf "\\0\\1" > bin'],
        push: 'Shut it',
        waits: true,
      })
      const { context, complaints } = await openContext({ permissions: ['clipboard-read', 'clipboard-write'] })
      const page = await signedIn(context, stand.server)
      await page.goto(`${stand.server.url}/instances/${id}`)
      await page.getByRole('tab', { name: 'Changes' }).click()
      await page.getByText('4 changed files').waitFor()
      await expect
        .poll(() => rows(page).allTextContents())
        .toEqual([
          'MREADME.md, modified, +2 added −1 deleted',
          'Abin, added, binary',
          'Dgone.txt, deleted,  −1 deleted',
          'Rnew.txt in src, renamed,  ',
        ])
      await expect.poll(() => inserted(page).allTextContents()).toEqual(['The gate is shut.', 'more'])

      // One stop of the Tab key; the arrow keys move, Enter opens.
      await rows(page).first().focus()
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('Enter')
      await expect.poll(() => lines(page).locator('.diff-code-delete').allTextContents()).toEqual(['bye'])
      expect(new URL(page.url()).searchParams.get('file')).toBe('gone.txt')
      await page.getByRole('link', { name: 'Next file' }).click()
      await page.getByText('Only its name changed.').waitFor()
      await page.getByRole('link', { name: 'Previous file' }).click()
      await page.getByRole('link', { name: 'Previous file' }).click()
      await page.getByText('A binary file').waitFor()

      // What was pushed has neither the binary file nor the line that was not committed.
      await page.getByLabel('Show', { exact: true }).selectOption('pushed')
      await page.getByText('3 changed files').waitFor()
      await page.getByText('The file bin has no change here.').waitFor()
      await page.getByLabel('Compare with').selectOption('pushed')
      await page.getByText('Nothing differs.').waitFor()
      await page.getByLabel('Show', { exact: true }).selectOption({ label: 'the work as it is now' })
      await page.getByText('2 changed files').waitFor()
      await page.getByLabel('Show', { exact: true }).locator('optgroup option').first().waitFor({ state: 'attached' })

      await page.getByLabel('Compare with').selectOption('start')
      await page.getByText('4 changed files').waitFor()
      await page.getByRole('button', { name: 'Copy patch' }).click()
      await page.getByText('Copied').waitFor()
      const copied = await page.evaluate<string>('navigator.clipboard.readText()')
      expect(copied).toContain('+The gate is shut.')
      expect(copied).toContain('rename to src/new.txt')
      await page.locator('[data-pull="1"]', { hasText: '#1 Shut it' }).waitFor()

      // The list follows the work without being asked.
      await stand.call('POST', `/instances/${id}/stop`, {})
      await untilStatus(stand.call, id, 'completed', 'cancelled')
      await page
        .getByLabel('Show', { exact: true })
        .locator('option', { hasText: 'the work at the end' })
        .waitFor({ state: 'attached' })
      await page.getByText('4 changed files').waitFor()
      expect(complaints).toEqual([])
      await context.close()
    },
    LIMIT,
  )

  // verifies: S-CHANGES-03
  test(
    'a person looks at the checks and promotes; a repeated promotion updates the same pull request',
    async () => {
      const workflow = `printf 'on: [push, pull_request]\\n' > .github/workflows/ci.yml; git commit -qam 'Check them all'`
      const id = await worked(stand, { scripts: [FIRST, workflow], push: 'Shut it' })
      const { context, complaints } = await openContext()
      const page = await signedIn(context, stand.server)
      await open(page, id)
      const before = stand.forge.pulls.length
      await page.getByRole('button', { name: 'Promote…' }).click()
      await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Open a pull request upstream')
      await check(page, 'fine', '2 commits for main: 5 files').waitFor()
      await check(page, 'note', '.github/workflows/ci.yml').waitFor()
      // As the resolver's own pull request says.
      await expect.poll(() => page.getByLabel('Title').inputValue()).toBe('Shut it')
      expect(await page.getByLabel('Description').inputValue()).toBe('')
      await page.getByRole('button', { name: 'Open the pull request' }).click()
      await page.getByRole('alert').getByText('Look at the files').waitFor()
      expect(stand.forge.pulls).toHaveLength(before)
      await page.getByLabel('I have looked at these files').check()
      await page.getByLabel('Title').fill('Shut the gate at night')
      await page.getByLabel('Description').fill('It was open.')
      await page.getByLabel('Open as a draft').check()
      await page.getByRole('button', { name: 'Open the pull request' }).click()
      await page.getByRole('heading', { name: 'The pull request is open' }).waitFor()
      const [made] = stand.forge.pulls.slice(before)
      expect(made).toMatchObject({
        title: 'Shut the gate at night',
        body: 'It was open.',
        isDraft: true,
        target: 'main',
      })
      await page.getByRole('button', { name: 'Close' }).click()
      const link = page.locator(`[data-pull="upstream ${made?.number}"] a`)
      await link.waitFor()
      expect(await link.getAttribute('href')).toContain(`/${made?.number}`)
      expect(await link.getAttribute('rel')).toBe('noreferrer noopener')

      // Neither title nor description is touched: both stay.
      await page.getByRole('button', { name: 'Promote…' }).click()
      await page.getByRole('heading', { name: `Update pull request #${made?.number}` }).waitFor()
      await page.getByLabel('I have looked at these files').check()
      await page.getByRole('button', { name: 'Update the pull request' }).click()
      await page.getByRole('heading', { name: 'The pull request was updated' }).waitFor()
      expect(stand.forge.pulls.slice(before)).toMatchObject([{ title: 'Shut the gate at night', body: 'It was open.' }])
      expect(complaints).toEqual([])
      await context.close()
    },
    LIMIT,
  )

  test(
    'a secret, a missing target and a branch that has moved are refused in words',
    async () => {
      const secret = await worked(stand, {
        scripts: [`echo 'forge-token-4f1c9a7be2' > key.txt; git add -A; git commit -qm 'Add a key'`],
        push: 'Key',
      })
      const { context } = await openContext()
      const page = await signedIn(context, stand.server)
      await open(page, secret)
      await page.getByRole('button', { name: 'Promote…' }).click()
      await check(page, 'refused', 'key.txt').waitFor()
      const submit = page.getByRole('button', { name: 'Open the pull request' })
      expect(await submit.isDisabled()).toBe(true)
      // Escape closes the form, and the button has the focus again.
      await page.getByLabel('Title').press('Escape')
      await submit.waitFor({ state: 'detached' })
      await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Promote…')

      const id = await worked(stand, { scripts: [FIRST], push: 'Shut it' })
      await open(page, id)
      await page.getByRole('button', { name: 'Promote…' }).click()
      await page.getByLabel('Target branch').fill('nowhere')
      await page.getByLabel('Title').focus()
      await page.getByRole('alert').getByText('has no branch "nowhere"').waitFor()
      await page.getByLabel('Target branch').fill('')
      await page.getByLabel('Title').focus()
      await check(page, 'fine', '1 commit for main').waitFor()
      stand.upstream.commit('tea/repo', { 'theirs.txt': 'mine' }, `resolve/repo-${id.slice(0, 8)}`)
      await submit.click()
      await page
        .getByRole('alert')
        .getByText('has commits that this instance did not push; nothing was overwritten')
        .waitFor()
      await context.close()
    },
    LIMIT,
  )

  test(
    'a branch that is behind is rebased where the person wants it',
    async () => {
      const id = await worked(stand, { scripts: [FIRST], push: 'Shut it' })
      const main = stand.upstream.commit('tea/repo', { 'later.txt': 'later' })
      const { context } = await openContext()
      const page = await signedIn(context, stand.server)
      await open(page, id)
      await page.getByRole('button', { name: 'Promote…' }).click()
      await check(page, 'note', 'main has 1 commit that the branch does not have').waitFor()
      await page.getByLabel('Rebase').check()
      await check(page, 'fine', 'The branch has every commit of main').waitFor()
      await page.getByRole('button', { name: 'Open the pull request' }).click()
      await page.getByRole('heading', { name: 'The pull request is open' }).waitFor()
      expect(stand.upstream.git('tea/repo', 'rev-parse', `resolve/repo-${id.slice(0, 8)}^`)).toBe(main)
      await context.close()
    },
    LIMIT,
  )

  // verifies: S-CHANGES-04
  test(
    'a reader sees the changes and no way to promote; the server refuses it anyway',
    async () => {
      const id = await worked(stand, { scripts: [FIRST], push: 'Shut it' })
      const token = await newToken(stand.server.home, 'read')
      const { context } = await openContext()
      const page = await signedIn(context, stand.server, token)
      await open(page, id)
      await page.getByText('3 changed files').waitFor()
      await page.locator('[data-pull="1"]').waitFor()
      await page.getByText('1 commit pushed').waitFor()
      expect(await page.getByRole('button', { name: 'Promote…' }).count()).toBe(0)
      for (const dry_run of [true, false]) {
        const response = await fetch(`${stand.server.url}/api/instances/${id}/repos/repo/promote`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ dry_run }),
        })
        expect(response.status).toBe(403)
      }
      await context.close()
    },
    LIMIT,
  )

  test(
    'one of several repositories is chosen; where nothing was pushed, nothing is offered',
    async () => {
      const id = await worked(stand, { scripts: ['echo two >> README.md'], more: ['tea/other'] })
      const { context } = await openContext()
      const page = await signedIn(context, stand.server)
      await open(page, id)
      await page.getByText('1 changed file', { exact: true }).waitFor()
      await page.getByText('nothing was pushed yet').waitFor()
      expect(await page.getByRole('button', { name: 'Promote…' }).count()).toBe(0)
      await page.getByLabel('Repository').selectOption('other')
      await page.locator('[data-repo="other"]').getByText('Nothing differs.').waitFor()
      await page.goto(`${stand.server.url}/instances/${id}/changes?at=77`)
      await page.getByRole('alert').getByText('snapshot 77').waitFor()
      await context.close()
    },
    LIMIT,
  )

  // verifies: S-CHANGES-05
  test(
    'nothing of a hostile repository runs, hides or fills the page',
    async () => {
      const evil = '<img src=x onerror="top.pwned=1"><script>top.pwned=1</script>'
      const many = 'mkdir -p zz; i=0; while [ $i -lt 3200 ]; do echo $i > zz/file-$i; i=$((i+1)); done'
      const id = await worked(stand, {
        scripts: [
          [
            `printf '%s\\n' '${evil}' > '<img src=x onerror=top.pwned=1>.html'`,
            `touch "$(printf 'a\\033[31mred\\nline')"; echo x > "$(printf 'a\\342\\200\\256gpj.exe')"`,
            `printf 'if (admin) \\342\\200\\256 {\\033[31m\\r\\ntwo\\n' > trojan.js`,
            `head -c 3000000 /dev/zero | tr '\\0' x > long-line.txt`,
            `seq 1 9000 > many-lines.txt`,
            `echo y > "$(head -c 200 /dev/zero | tr '\\0' n)"`,
            `printf '* -diff\\n' > .gitattributes; printf '\\377\\376' > "$(printf 'bad\\377name')"`,
          ].join('; '),
          many,
          `git add -A; git commit -qm '${evil}'`,
        ],
        push: evil,
      })
      for (const colorScheme of ['light', 'dark'] as const) {
        const { context, complaints } = await openContext({ colorScheme, viewport: { width: 390, height: 844 } })
        const page = await signedIn(context, stand.server)
        const file = async (name: string) => {
          await open(page, id, `?file=${encodeURIComponent(name)}`)
          await page.locator('.change-head').waitFor()
        }
        await file('trojan.js')
        await page.getByText('Only the first 3,000 files are listed.').waitFor()
        await expect.poll(() => inserted(page).allTextContents()).toEqual(['if (admin) ⟨U+202E⟩ {␛[31m␍', 'two'])
        await page.getByText('They are shown as their code').waitFor()
        await expect.poll(() => rows(page).count()).toBeLessThan(100)
        await page.getByLabel('Search the files').fill('onerror')
        await expect.poll(() => rows(page).count()).toBe(1)
        await rows(page).first().click()
        await expect.poll(() => inserted(page).allTextContents()).toEqual([evil])
        await page.getByText('1 commit', { exact: true }).click()
        await page.locator('details[open]').getByText(evil).waitFor()
        expect(await findings(page)).toEqual([])

        // A file after those that are listed.
        await file('zz/file-999')
        await expect.poll(() => inserted(page).allTextContents()).toEqual(['999'])
        await file('many-lines.txt')
        await page.getByText('Showing 2,000 of').waitFor()
        await page.getByRole('button', { name: 'Show more' }).click()
        await page.getByText('Showing 4,000 of').waitFor()
        await file('long-line.txt')
        await page.getByText('more characters').waitFor()
        await file('ared line')
        await page.getByText('No line of it changed.').waitFor()
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
        expect(
          await page.evaluate('[top.pwned ?? null, document.querySelectorAll("main img, main script").length]'),
        ).toEqual([null, 0])
        expect(complaints).toEqual([])
        await context.close()
      }
    },
    LIMIT,
  )

  for (const colorScheme of ['light', 'dark'] as const) {
    test(
      `axe finds nothing while a person decides about a promotion: ${colorScheme}`,
      async () => {
        const id = await worked(stand, {
          scripts: [FIRST, `echo x >> .github/workflows/ci.yml; git commit -qam More`],
          push: 'Shut it',
        })
        const { context } = await openContext({ colorScheme, reducedMotion: 'reduce' })
        const page = await signedIn(context, stand.server)
        await open(page, id)
        await lines(page).waitFor()
        await page.getByRole('button', { name: 'Promote…' }).click()
        await check(page, 'note', 'ci.yml').waitFor()
        expect(await findings(page)).toEqual([])
        for (const width of [320, 390, 1440]) {
          await page.setViewportSize({ width, height: 844 })
          expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
        }
        await context.close()
      },
      LIMIT,
    )
  }
})
