/** Prints as soon as it is imported. */
console.log('early print')
process.stdout.write('early write\n')
