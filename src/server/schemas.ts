/** How requests are checked: bodies exactly as they are, what stands in an address as the text it is (ajv, JSON Schema 2020-12). */
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { FastifyInstance } from 'fastify'
import { SHAPES } from './shapes.ts'

/** Lets routes name the shapes, and check by them. Answers are documented by theirs, not rewritten. */
export function addSchemas(app: FastifyInstance): void {
  const exact = new Ajv2020({ strict: true, allowUnionTypes: true })
  const textual = new Ajv2020({ strict: true, allowUnionTypes: true, coerceTypes: 'array', useDefaults: true })
  for (const [name, shape] of Object.entries(SHAPES)) {
    const named = { $id: name, ...shape }
    app.addSchema(named)
    exact.addSchema(named)
    textual.addSchema(named)
  }
  app.setValidatorCompiler(({ schema, httpPart }) => (httpPart === 'body' ? exact : textual).compile(schema as object))
  app.setSerializerCompiler(() => (value) => JSON.stringify(value))
}
