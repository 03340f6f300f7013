/** The folder that a workspace names: a path, or a `file:` URL. */
export function folderOf(workspace: string): string {
  if (!workspace.startsWith("file://")) return workspace;
  const path = workspace.slice("file://".length);
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** `path` below `base`: as it is where it is absolute already, or names the base itself or something in it. */
export function below(base: string, path: string): string {
  const folder = base.endsWith("/") ? base.slice(0, -1) : base;
  const name = path.startsWith("./") ? path.slice(2) : path;
  if (name.startsWith("/") || /^[A-Za-z]:[\\/]/.test(name) || name === folder || name.startsWith(`${folder}/`)) return name;
  // A tool that was given a file answers with its last name.
  return folder.endsWith(`/${name}`) ? folder : `${folder}/${name}`;
}
