/** Requirements of the specification's form dialect (A2UI v0.9). */
import { section } from './requirement.ts'

export const formRequirements = section('A2UI v0.9 schema', 'FORM', {
  '01': 'A form is an object with type "form" and an array of components',
  '02': 'The platform validates payloads against the declared checks and never interprets them',
  '03': 'text and textarea carry id, label, placeholder, description, checks',
  '04': 'select carries id, label, options of {value, label}, default, checks',
  '05': 'checkbox carries id, label, description, default, checks',
  '06': 'A check is {condition, message} and passes when its condition is true',
  '07': 'A failing check blocks submission and its message is returned',
  '08': 'A condition may be a literal boolean',
  '09': 'A condition may be a binding {path}, cast to bool',
  '10': 'A condition may be a function call {call, args}',
  '11': 'A path is resolved against the submitted payload: leading "/" stripped, split on "/" for nested access',
  '12': 'A missing path resolves to null',
  '13': 'required passes on a present, non-null, non-empty string',
  '14': 'regex searches the pattern in the value',
  '15': 'length passes when min <= length <= max, both optional',
  '16': 'numeric passes when the value casts to a number within range',
  '17': 'email passes on local-part @ domain . suffix',
  '18': 'and passes when all conditions pass',
  '19': 'not passes when its condition fails',
  '20': 'or exists',
  '21': 'instantiation_schema(params) may return different components depending on params',
})
