/** A complete feature spec without a fault, to start from: `resolve spec init` writes it, and forms offer it. */

export const EXAMPLE_FEATURE_SPEC = `# Notes

Add notes with a text to the existing API.

## Endpoints

### Create a note
\`POST /notes\`

**Request body:**
\`\`\`json
{ "text": "Buy milk" }
\`\`\`

**Success response (201 Created):**
\`\`\`json
{ "id": 1, "text": "Buy milk", "created_at": "2026-01-15T10:30:00Z" }
\`\`\`

### List the notes
\`GET /notes\`

**Success response (200 OK):**
\`\`\`json
{ "notes": [{ "id": 1, "text": "Buy milk", "created_at": "2026-01-15T10:30:00Z" }] }
\`\`\`

### Delete a note
\`DELETE /notes/{id}\`

**Success response (204 No Content):** no body

## Validation Rules
- \`text\` MUST have 1 to 500 characters after trimming
- \`id\` MUST be an integer of at least 1

## Error Cases
- 400 for a missing or empty \`text\`
- 400 for a \`text\` of more than 500 characters
- 404 for an \`id\` that does not exist

## Integration Requirements
- Follow the router and the error format of the existing endpoints
- Store the notes with the storage provider that the existing endpoints use

## Proof
- \`POST /notes\` with \`{"text": "Buy milk"}\` returns 201 with \`id\`, \`text\` and \`created_at\`
- \`GET /notes\` returns 200 with \`notes\`
- \`POST /notes\` with \`{"text": ""}\` returns 400
- \`DELETE /notes/{id}\` of a created note returns 204, and \`GET /notes\` no longer lists it
- \`DELETE /notes/999999\` returns 404
`
