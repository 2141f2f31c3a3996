// What both ecosystem files say of the fleet's processes.
module.exports = {
  name: 'fleet',
  script: './app.mjs',
  cwd: __dirname,
  exec_mode: 'cluster',
  instances: 4,
  // A process counts as started when it sends 'ready', after fleet.start(): a reload never ends an old node before a new one works.
  wait_ready: true,
  // How long that may take. The store may be slow; a process that says nothing for so long is counted as started all the same.
  listen_timeout: 15_000,
  // PM2 kills a process that has not ended so long after SIGINT (by itself after 1.6 s): the grace of fleet.stop(), 8 s, and 5 s in
  // which a handler may obey its signal, and what the store takes.
  kill_timeout: 16_000,
  // A node that cannot start is not started a thousand times a minute.
  exp_backoff_restart_delay: 100,
}
