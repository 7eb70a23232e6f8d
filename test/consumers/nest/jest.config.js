module.exports = {
  testEnvironment: 'node',
  cacheDirectory: `${__dirname}/.jest-cache`,
  transform: { '^.+\\.ts$': ['ts-jest', { tsconfig: `${__dirname}/tsconfig.json` }] },
}
