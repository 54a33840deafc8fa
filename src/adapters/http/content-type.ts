/** JSON in UTF-8 and nothing else: no other type, no other charset, no other parameter. */
const JSON_TYPE = /^application\/json(?:[ \t]*;[ \t]*charset=(?:utf-8|"utf-8"))?$/i;

/** Whether a request's content type headers declare exactly one JSON body. */
export const isJsonContentType = (values: readonly string[]): boolean =>
  values.length === 1 && JSON_TYPE.test(values[0] ?? '');

const ANY_JSON_TYPE = /^application\/(?:json|[a-z0-9.+-]+\+json)[ \t]*(?:;|$)/i;
const CHARSET = /;[ \t]*charset[ \t]*=[ \t]*"?(?!utf-8|us-ascii)/i;

/** The same for Conductor's clients, some of which declare nothing, or more than there is to say. */
export const isLenientJsonContentType = (values: readonly string[]): boolean =>
  values.length === 0 || (values.length === 1 && ANY_JSON_TYPE.test(values[0] ?? '') && !CHARSET.test(values[0] ?? ''));

/** Whether the body is sent as it is: a compressed one is a bomb until proven otherwise. */
export const isPlainEncoding = (values: readonly string[]): boolean =>
  values.every((value) => value.trim().toLowerCase() === 'identity');
