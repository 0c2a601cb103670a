/** Requirements of the specification about endpoints, authentication and HTTP errors. */
import { section } from './requirement.ts'

const endpoints = section('Endpoints', 'HTTP', {
  '01': 'POST /instances creates an instance',
  '02': 'GET /instances/{id} answers the record with status and output',
  '03': 'DELETE /instances/{id} cancels',
  '04': 'GET /instances/{id}/state answers the snapshot',
  '05': 'GET /instances/{id}/events streams SSE lines and ends with {type: done}',
  '06': 'POST /instances/{id}/resume resumes, only when supports_resume is true',
  '07': 'POST /instances/{id}/stop asks for a graceful stop',
  '08': 'GET /instances/{id}/input-requests lists requests, filtered by status',
  '09': 'POST /instances/{id}/input-requests/{rid} delivers a response',
  '10': 'GET /instances/{id}/message-types lists the message types',
  '11': 'POST /instances/{id}/messages answers 202 {accepted: true}',
  '12': 'GET /instances/{id}/data/{path} answers the file with its detected content type',
  '13': 'GET /resolvers lists name, version, description',
  '14': 'GET /resolvers/{name}/schema answers the instantiation schema',
  '15': 'GET / at the base URL answers the creation form',
})

const behaviour = section('Behavior of the endpoints', 'DO', {
  '01': "An answer is validated against the request's schema; then the response file is written, on_input_response called and the status is running again",
  '02': 'Resolver code may use either the future of request_input or the callback for one request, not both',
  '03': 'A message is validated against the catalog and its schema, written to messages/{N}.json, and on_message is called',
  '04': 'Data is read from .resolve/data; path traversal is blocked',
  '05': 'The events file is the source of truth; what is streamed is a layer over it',
})

const authentication = section('Authentication', 'AUTH', {
  '01': 'Requests carry Authorization: Bearer',
  '02': 'The events endpoint also takes the token as a query parameter',
  '03': 'Secrets reach the resolver only through InstanceConfig',
})

const errors = section('Errors', 'ERR', {
  '01': 'A form that fails a check is refused with "Validation failed" and every failing message at once',
  '02': '422 carries {detail, errors}',
  '03': 'GET data answers 400 on traversal and 404 when missing (502 for a worker that cannot be reached is R13-LATER)',
  '04': 'A failure of the resolver is reported by resolver:completed with error {code, detail} and by ResolverResult.error',
})

export const httpRequirements = [...endpoints, ...behaviour, ...authentication, ...errors]
