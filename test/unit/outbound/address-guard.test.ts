import { describe, expect, it } from 'vitest';
import { isReachable } from '../../../src/adapters/outbound/address-guard.ts';
import { checkedUrl } from '../../../src/adapters/outbound/url-guard.ts';

const NEVER = [
  '169.254.169.254',
  '169.254.170.2',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  'fd00:ec2::254',
  '::ffff:169.254.169.254',
  '0.0.0.0',
  '0.1.2.3',
  '169.254.1.1',
  '192.0.0.1',
  '192.0.2.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  'fe80::1',
  'fec0::1',
  'ff02::1',
  '64:ff9b::7f00:1',
  '64:ff9b::808:808',
  '64:ff9b:1::1',
  '2002:7f00:1::',
  '2001::1',
  '2001:db8::1',
  '3fff::1',
  '::127.0.0.1',
  '::8.8.8.8',
  '100::1',
  'fe80::1%eth0',
  'example.com',
  '',
];
const LOOPBACK = ['127.0.0.1', '127.255.255.254', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1'];
const PRIVATE = ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1', 'fc00::1', 'fd12:3456::1'];
const PUBLIC = ['8.8.8.8', '1.1.1.1', '172.32.0.1', '2606:4700:4700::1111', '::ffff:8.8.8.8'];

describe('an address', () => {
  it.each(NEVER)('%s is called in no setting', (address) => {
    expect(['public', 'loopback', 'private'].filter((networks) => isReachable(address, networks as 'public'))).toEqual(
      [],
    );
  });

  it.each(LOOPBACK)('%s is this machine, and called only where that is allowed', (address) => {
    expect([isReachable(address, 'public'), isReachable(address, 'loopback'), isReachable(address, 'private')]).toEqual(
      [false, true, true],
    );
  });

  it.each(PRIVATE)('%s is private, and called only where that is allowed', (address) => {
    expect([isReachable(address, 'public'), isReachable(address, 'loopback'), isReachable(address, 'private')]).toEqual(
      [false, false, true],
    );
  });

  it.each(PUBLIC)('%s is called in every setting', (address) => {
    expect([isReachable(address, 'public'), isReachable(address, 'private')]).toEqual([true, true]);
  });
});

describe('a URL', () => {
  const rules = { networks: 'public', hosts: [] } as const;
  const codeOf = (url: string, hosts: readonly string[] = []): string => {
    const checked = checkedUrl(url, { networks: 'public', hosts });
    return checked.ok ? 'ok' : checked.error.code;
  };

  it.each([
    'http://127.0.0.1/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::1]:8080/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0177.0.0.1/',
    'http://127.1/',
    'http://0/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[fd00:ec2::254]/',
    'http://user:pass@example.com/',
    'http://user@example.com/',
    'file:///etc/passwd',
    'ftp://example.com/',
    'gopher://example.com/',
    'javascript:alert(1)',
  ])('%s is refused before anything is sent', (url) => expect(codeOf(url)).toBe('URL_NOT_ALLOWED'));

  it.each(['', 'example.com/x', '/path', 'http://', 'http://exa mple.com/', 'http://256.256.256.256/'])(
    '%j is no absolute URL',
    (url) => expect(codeOf(url)).toBe('INVALID_REQUEST'),
  );

  it('keeps to the allowed hosts, with their ports where these are told', () => {
    const hosts = ['api.example.com', '*.internal.example', 'other.example:8443'];
    const codes = [
      'https://api.example.com/',
      'https://API.example.com.:9/',
      'https://a.internal.example/',
      'https://other.example:8443/',
      'https://other.example/',
      'https://internal.example/',
      'https://api.example.com.evil.example/',
      'https://evilapi.example.com/',
    ].map((url) => codeOf(url, hosts));
    expect(codes).toEqual(['ok', 'ok', 'ok', 'ok', ...Array.from({ length: 4 }, () => 'URL_NOT_ALLOWED')]);
  });

  it('tells neither its path nor its query when it is refused', () => {
    const refused = checkedUrl('http://127.0.0.1/a?token=hidden', rules);
    expect(JSON.stringify(refused)).not.toContain('hidden');
  });
});
