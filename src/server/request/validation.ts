/** Validates requests (ajv, JSON Schema 2020-12): bodies without any conversion, query and headers as strings. */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import type { FastifyInstance } from 'fastify'

/**
 * The schemas are ours, and a test validates the document made from them: validating them at each start would take most of
 * the start time.
 */
// An error brings its schema with it, whose description says a rule in words.
const SOUND = { strict: true, allowUnionTypes: true, validateSchema: false, verbose: true }

type Check = ((value: unknown) => boolean) & { errors?: ErrorObject[] | null }

/** Validates requests by the schemas of the table. Answers are documented by their schemas, not rewritten. */
export function addValidation(app: FastifyInstance): void {
  const exact = new Ajv2020(SOUND)
  const textual = new Ajv2020({ ...SOUND, coerceTypes: 'array', useDefaults: true })
  app.setValidatorCompiler(({ schema, httpPart }) =>
    compiledLater(httpPart === 'body' ? exact : textual, schema as object),
  )
  app.setSerializerCompiler(() => (value) => JSON.stringify(value))
}

/** Compiled at the first request: a host's socket usually serves one or two routes, and must answer at once. */
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
