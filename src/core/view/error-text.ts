/** The error of an instance in one sentence, with the file and line of the author's code where they are known. Pure. */
import type { InstanceError } from '../protocol/instance.ts'

export function errorText({ detail, place }: InstanceError): string {
  return place === undefined ? detail : `${detail} (${place})`
}
