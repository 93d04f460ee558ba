// An OpenID provider that gives out access tokens as JWTs, which say where their caller is and what they read.
//
//   node provider.mjs serve KEY     serves at a free port, and writes its private key to the file KEY
//   node provider.mjs sign KEY TOKEN SECONDS
//                                   prints the claims of TOKEN, moved by so many seconds, signed with the key in the file
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair, importJWK, SignJWT } from 'jose'
import { Provider } from 'oidc-provider'

const ALGORITHM = 'RS256'
const CLAIMS = { zoneinfo: 'Asia/Kathmandu', locale: 'de_CH' }
const CLIENT = {
  client_id: 'interop',
  client_secret: 'only-for-tests',
  token_endpoint_auth_method: 'client_secret_post',
  grant_types: ['client_credentials'],
  redirect_uris: [],
  response_types: [],
}

const configuration = (key) => ({
  clients: [CLIENT],
  jwks: { keys: [key] },
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      // Any resource may be asked for: who accepts a token for it is not the provider's business.
      getResourceServerInfo: (_context, resource) => ({
        scope: 'tools',
        audience: resource,
        accessTokenTTL: 600,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: ALGORITHM, kid: key.kid } },
      }),
    },
  },
  extraTokenClaims: () => CLAIMS,
})

async function serve(file) {
  const { privateKey } = await generateKeyPair(ALGORITHM, { extractable: true })
  // Every provider calls its key the same, so that it is the key that is told apart and not its name.
  const key = { ...(await exportJWK(privateKey)), kid: 'interop', alg: ALGORITHM, use: 'sig' }
  await writeFile(file, JSON.stringify(key), { mode: 0o600 })
  const server = createServer()
  // Its issuer is where it is, which is known once it listens.
  server.listen(0, '127.0.0.1', () => {
    const issuer = `http://127.0.0.1:${server.address().port}`
    server.on('request', new Provider(issuer, configuration(key)).callback())
    console.log(`The provider is at ${issuer}`)
  })
}

async function sign(file, token, seconds) {
  const key = JSON.parse(await readFile(file, 'utf8'))
  const claims = decodeJwt(token)
  for (const time of ['iat', 'nbf', 'exp']) if (time in claims) claims[time] += Number(seconds)
  const jwt = new SignJWT(claims).setProtectedHeader(decodeProtectedHeader(token))
  console.log(await jwt.sign(await importJWK(key, ALGORITHM)))
}

const [command, ...words] = process.argv.slice(2)
await { serve, sign }[command](...words)
