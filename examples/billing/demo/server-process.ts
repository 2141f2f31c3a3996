import { main } from '../../../test/servers/warden.js'

await main()
