/** The SHA-256 of a text's UTF-8 bytes, in lower-case hex: the address of content that never changes. */
export type ContentHasher = (text: string) => string;
