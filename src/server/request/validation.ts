/** How requests are checked: bodies exactly as they are, the query and headers as the text they are (ajv, JSON Schema 2020-12). */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import type { FastifyInstance } from 'fastify'

/** The schemas are our own, and a test validates the document they make: checking them at each start would take longer than the rest of it. */
const SOUND = { strict: true, allowUnionTypes: true, validateSchema: false }

type Check = ((value: unknown) => boolean) & { errors?: ErrorObject[] | null }

/** Checks requests by the schemas of the table. Answers are documented by theirs, not rewritten. */
export function addValidation(app: FastifyInstance): void {
  const exact = new Ajv2020(SOUND)
  const textual = new Ajv2020({ ...SOUND, coerceTypes: 'array', useDefaults: true })
  app.setValidatorCompiler(({ schema, httpPart }) =>
    compiledLater(httpPart === 'body' ? exact : textual, schema as object),
  )
  app.setSerializerCompiler(() => (value) => JSON.stringify(value))
}

/** Compiled with its first request: a host's socket is asked for one route or two, and at once. */
function compiledLater(ajv: Ajv2020, schema: object): Check {
  let compiled: ValidateFunction | undefined
  const check: Check = (value) => {
    compiled ??= ajv.compile(schema)
    const isValid = compiled(value)
    check.errors = compiled.errors ?? null
    return isValid
  }
  return check
}
