// A web server with products as JSON, and its own clients.
import http from 'node:http';

const products = Array.from({ length: 2000 }, (_, id) => ({
  id,
  name: `product ${(id * 7919) % 2000}`,
  price: (id * 31) % 997,
}));

function cheapest(most) {
  return [...products].sort((a, b) => a.price - b.price || a.name.localeCompare(b.name)).slice(0, most);
}

const server = http.createServer((request, response) => {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(cheapest(50)));
});

function ask(port) {
  http.get({ port, host: '127.0.0.1', path: '/cheapest' }, (answer) => {
    answer.resume();
    answer.on('end', () => setImmediate(ask, port));
  });
}

server.listen(0, '127.0.0.1', () => ask(server.address().port));
