/** Detects Java software that Maven or Gradle builds to a jar. */
import { type Found, need, nothingFound, type ToolNeed } from './found.ts'
import type { TreeReader } from './tree-reader.ts'

const PORT = 8080
const SERVES =
  /spring-boot-starter-web|spring-boot-starter-jersey|quarkus|micronaut|javalin|spark-core|jetty|vertx|dropwizard|helidon|ktor|undertow|tomcat-embed/i
const PAGES = /thymeleaf|freemarker|mustache|vaadin|jsp/i
const RUNS =
  /mainClass|<manifest>|Main-Class|id\s*\(?['"]application['"]|\bapplication\b\s*\{|org\.springframework\.boot/

export async function detectJava(tree: TreeReader): Promise<Found | undefined> {
  const gradle = await tree.firstOf(['build.gradle.kts', 'build.gradle', 'settings.gradle.kts', 'settings.gradle'])
  if ((await tree.has('gradlew')) && gradle !== undefined) return gradleBuild(tree, gradle, './gradlew')
  if (await tree.has('pom.xml')) return mavenBuild(tree)
  return gradle === undefined ? undefined : gradleBuild(tree, gradle, 'gradle')
}

async function mavenBuild(tree: TreeReader): Promise<Found> {
  const manifest = (
    await Promise.all(['pom.xml', ...(await inner(tree, 'pom.xml'))].map((path) => tree.text(path)))
  ).join('\n')
  const version = /<(?:java\.version|maven\.compiler\.release|maven\.compiler\.source|release)>\s*(?:1\.)?(\d+)/.exec(
    manifest,
  )
  const repository = '-Dmaven.repo.local="$RESOLVE_CACHE/m2"'
  // An extension is code that Maven loads before it does anything, and modules are not in a repository before they are built.
  const runsCode = /<extensions?>/.test(manifest) || (await tree.has('.mvn', 'directory')) || /<modules>/.test(manifest)
  const isQuarkus = /quarkus/i.test(manifest)
  const jars = isQuarkus ? 'target/quarkus-app/quarkus-run.jar' : 'target/*.jar */target/*.jar'
  return {
    ...nothingFound('java', ['pom.xml']),
    fetch: runsCode ? null : { command: `mvn -B -q ${repository} dependency:go-offline`, files: ['pom.xml'] },
    build: `mvn -B -q -DskipTests ${repository} package`,
    needs: [need('java', version?.[1]), { tool: 'mvn', range: '*' }],
    ...running(manifest, jars),
  }
}

/** Gradle runs the build script whatever it does, so nothing is fetched before the build. */
async function gradleBuild(tree: TreeReader, sign: string, gradle: './gradlew' | 'gradle'): Promise<Found> {
  const paths = [sign, 'build.gradle.kts', 'build.gradle']
  for (const name of ['build.gradle.kts', 'build.gradle']) paths.push(...(await inner(tree, name)))
  const manifest = (await Promise.all([...new Set(paths)].map((path) => tree.text(path)))).join('\n')
  const version =
    /JavaLanguageVersion\.of\(\s*["']?(\d+)|jvmToolchain\(\s*(\d+)|(?:source|target)Compatibility\s*=\s*["']?(?:JavaVersion\.VERSION_)?(?:1[._])?(\d+)/.exec(
      manifest,
    )
  const wanted = version?.[1] ?? version?.[2] ?? version?.[3]
  const tool: ToolNeed[] = gradle === 'gradle' ? [{ tool: 'gradle', range: '*' }] : []
  const run = gradle === 'gradle' ? 'gradle' : 'sh ./gradlew'
  const jars = /quarkus/i.test(manifest) ? 'build/quarkus-app/quarkus-run.jar' : 'build/libs/*.jar */build/libs/*.jar'
  return {
    ...nothingFound('java', [...(gradle === './gradlew' ? ['gradlew'] : []), sign]),
    build: `GRADLE_USER_HOME="$RESOLVE_CACHE/gradle" ${run} --no-daemon build -x test`,
    needs: [need('java', wanted), ...tool],
    ...running(manifest, jars),
  }
}

function running(manifest: string, jars: string): Pick<Found, 'type' | 'start' | 'port' | 'env'> {
  const jar = `"$(ls ${jars} 2>/dev/null | grep -v -e '-sources\\.jar$' -e '-javadoc\\.jar$' -e '-plain\\.jar$' -e 'original-' | head -n 1)"`
  if (!SERVES.test(manifest))
    return { type: RUNS.test(manifest) ? 'cli_tool' : 'library', start: null, port: null, env: {} }
  const isQuarkus = /quarkus/i.test(manifest)
  const port = isQuarkus ? 'QUARKUS_HTTP_PORT="$PORT" ' : 'SERVER_PORT="$PORT" '
  return {
    type: PAGES.test(manifest) ? 'web_app' : 'api_service',
    start: `${port}exec java -jar ${jar}`,
    port: PORT,
    env: {},
  }
}

/** The same file in the directories of the root: modules. */
async function inner(tree: TreeReader, name: string): Promise<string[]> {
  const directories = (await tree.directories()).slice(0, 40)
  const there = await Promise.all(directories.map((directory) => tree.has(`${directory}/${name}`)))
  return directories.filter((_, index) => there[index]).map((directory) => `${directory}/${name}`)
}
