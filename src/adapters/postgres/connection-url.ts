/** Adds server settings to a connection URL; those that it brings itself win. */
export const withServerSettings = (url: string, settings: Readonly<Record<string, string>>): string => {
  const extended = new URL(url);
  const given = extended.searchParams.get('options');
  const ours = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  extended.searchParams.set('options', [...ours, ...(given === null ? [] : [given])].join(' '));
  return extended.toString();
};
