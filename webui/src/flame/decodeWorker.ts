import { serveDecoding, type Port } from './decodeService.ts';

serveDecoding(self as unknown as Port);
