/** Where Jupyter keeps what running servers say of themselves, by the rules of its package jupyter_core. */
import { homedir } from 'node:os';
import { join } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

export function jupyterRuntimeFolder(
  env: Environment = process.env,
  platform: NodeJS.Platform = process.platform,
  home = homedir()
): string {
  return (
    env['JUPYTER_RUNTIME_DIR'] ||
    join(dataFolder(env, platform, home), 'runtime')
  );
}

function dataFolder(
  env: Environment,
  platform: NodeJS.Platform,
  home: string
): string {
  const named = env['JUPYTER_DATA_DIR'];
  if (named) {
    return named;
  }
  const isNative = /^(1|true|yes|on|y|t)$/i.test(
    env['JUPYTER_PLATFORM_DIRS'] ?? ''
  );
  switch (platform) {
    case 'darwin':
      return isNative
        ? join(home, 'Library', 'Application Support', 'Jupyter')
        : join(home, 'Library', 'Jupyter');
    case 'win32': {
      const roaming = isNative ? env['LOCALAPPDATA'] : env['APPDATA'];
      return roaming
        ? join(roaming, 'jupyter')
        : join(env['JUPYTER_CONFIG_DIR'] || join(home, '.jupyter'), 'data');
    }
    default:
      return join(
        env['XDG_DATA_HOME'] || join(home, '.local', 'share'),
        'jupyter'
      );
  }
}
