/** How requests are checked: bodies exactly as they are, what stands in an address as the text it is (ajv, JSON Schema 2020-12). */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import type { FastifyInstance } from 'fastify'
import { SHAPES } from './shapes.ts'

/** They are our own, and a test validates the document they make: checking them again at each start takes longer than all else. */
const SOUND = { strict: true, allowUnionTypes: true, validateSchema: false }

type Check = ((value: unknown) => boolean) & { errors?: ErrorObject[] | null }

/** Lets routes name the shapes, and check by them. Answers are documented by theirs, not rewritten. */
export function addSchemas(app: FastifyInstance): void {
  const exact = new Ajv2020(SOUND)
  const textual = new Ajv2020({ ...SOUND, coerceTypes: 'array', useDefaults: true })
  for (const [name, shape] of Object.entries(SHAPES)) {
    const named = { $id: name, ...shape }
    app.addSchema(named)
    exact.addSchema(named)
    textual.addSchema(named)
  }
  app.setValidatorCompiler(({ schema, httpPart }) => whenAsked(httpPart === 'body' ? exact : textual, schema as object))
  app.setSerializerCompiler(() => (value) => JSON.stringify(value))
}

/** Compiled with its first request: a host's socket is asked for one route or two, and at once. */
function whenAsked(ajv: Ajv2020, schema: object): Check {
  let compiled: ValidateFunction | undefined
  const check: Check = (value) => {
    compiled ??= ajv.compile(schema)
    const isValid = compiled(value)
    check.errors = compiled.errors ?? null
    return isValid
  }
  return check
}
