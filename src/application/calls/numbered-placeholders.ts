/** Where a `?` is no placeholder: texts, names, comments, and what stands between dollar quotes. */
const OPAQUE = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\$([A-Za-z_]\w*)?\$[\s\S]*?\$\1\$|\?/g;

/** The placeholders of JDBC as PostgreSQL writes them: the first `?` is $1. */
export const numberedPlaceholders = (statement: string): string => {
  let number = 0;
  return statement.replaceAll(OPAQUE, (found) => {
    if (found !== '?') return found;
    number += 1;
    return `$${number}`;
  });
};
