/** A script that serves nobody and ends by itself. */

process.stdout.write('hello from a script\n')
process.exitCode = 3
