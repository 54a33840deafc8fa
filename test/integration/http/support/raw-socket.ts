import { connect, type Socket } from 'node:net';

/** One raw connection: what it received so far, and promises for more. */
export class RawSocket {
  readonly socket: Socket;
  private received = '';
  private readonly watchers = new Set<() => void>();
  /** Resolves when the server has closed. */
  readonly closed: Promise<void>;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding('utf8').on('data', (text: string) => {
      this.received += text;
      for (const watcher of this.watchers) watcher();
    });
    // A server that cuts the connection is what some tests want to see.
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
  }

  static open(port: number): Promise<RawSocket> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('error', reject).once('connect', () => {
        socket.off('error', reject);
        resolve(new RawSocket(socket));
      });
    });
  }

  get text(): string {
    return this.received;
  }

  write(data: string | Uint8Array): void {
    this.socket.write(data);
  }

  /** Resolves when the text so far matches. */
  until(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve) => {
      const look = () => {
        const match = pattern.exec(this.received);
        if (match === null) return;
        this.watchers.delete(look);
        resolve(match);
      };
      this.watchers.add(look);
      look();
    });
  }

  /** Status and error code of the one answer, when its body is complete. */
  async answer(): Promise<Readonly<{ status: number; error: string; closes: boolean }>> {
    const [, status, head = '', error] = await this.until(
      /^HTTP\/1\.1 (\d{3}) ([\s\S]*?)\r\n\r\n\{"error":"([A-Z_]+)".*\}/,
    );
    return { status: Number(status), error: error ?? '', closes: /connection: close/i.test(head) };
  }
}
