import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

/** Starts to connect to an origin: TLS with certificates verified, or plain TCP to loopback (DESIGN §7). */
export function dial({ protocol, hostname, port }: URL): Socket {
  const host = hostname.replace(/^\[|\]$/g, "");
  return protocol === "https:" ? connectTls({ host, port: 443, servername: host, ALPNProtocols: ["h2"] }) : connectTcp({ host, port: Number(port) || 80 });
}
