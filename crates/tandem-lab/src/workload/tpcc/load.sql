-- Clause 4.3.3: the first contents.
SELECT setseed(:seed);
INSERT INTO item SELECT i, pick(1, 10000), words(14, 24), pick(100, 10000) / 100.0,
  CASE WHEN random() < 0.1 THEN 'ORIGINAL' ELSE '' END || words(18, 42)
  FROM generate_series(1, :items) i;
INSERT INTO warehouse SELECT w, words(6, 10), words(10, 20), words(10, 20), words(10, 20), 'LA',
  pick(1000, 9999) || '11111', pick(0, 2000) / 10000.0, 300000 FROM generate_series(1, :warehouses) w;
INSERT INTO stock SELECT w, i, pick(10, 100), (SELECT array_agg(words(24, 24)) FROM generate_series(1, 10) WHERE i > 0),
  0, 0, 0, CASE WHEN random() < 0.1 THEN 'ORIGINAL' ELSE '' END || words(18, 42)
  FROM generate_series(1, :warehouses) w, generate_series(1, :items) i;
INSERT INTO district SELECT w, d, words(6, 10), words(10, 20), words(10, 20), words(10, 20), 'LA',
  pick(1000, 9999) || '11111', pick(0, 2000) / 10000.0, 30000, :customers + 1
  FROM generate_series(1, :warehouses) w, generate_series(1, 10) d;
INSERT INTO customer SELECT w, d, c, words(8, 16), 'OE',
  surname(CASE WHEN c <= 1000 THEN c - 1 ELSE nurand(255, 0, 999, 123) END),
  words(10, 20), words(10, 20), words(10, 20), 'LA', pick(1000, 9999) || '11111',
  pick(10000000, 99999999) || '00000000', now(), CASE WHEN random() < 0.1 THEN 'BC' ELSE 'GC' END,
  50000, pick(0, 5000) / 10000.0, -10, 10, 1, 0, words(300, 500)
  FROM generate_series(1, :warehouses) w, generate_series(1, 10) d, generate_series(1, :customers) c;
INSERT INTO history SELECT c_id, c_d_id, c_w_id, c_d_id, c_w_id, now(), 10, words(12, 24) FROM customer;
-- A permutation of the customers; the last 30 % of the orders are not delivered.
INSERT INTO orders SELECT w, d, row_number() OVER (PARTITION BY w, d ORDER BY random()), c, now(), NULL,
  pick(5, 15), 1
  FROM generate_series(1, :warehouses) w, generate_series(1, 10) d, generate_series(1, :customers) c;
UPDATE orders SET o_carrier_id = pick(1, 10) WHERE o_id <= :customers * 7 / 10;
INSERT INTO new_order SELECT o_w_id, o_d_id, o_id FROM orders WHERE o_id > :customers * 7 / 10;
INSERT INTO order_line SELECT o_w_id, o_d_id, o_id, n, pick(1, :items), o_w_id,
  CASE WHEN o_carrier_id IS NULL THEN NULL ELSE o_entry_d END, 5,
  CASE WHEN o_carrier_id IS NULL THEN pick(1, 999999) / 100.0 ELSE 0 END, words(24, 24)
  FROM orders, generate_series(1, o_ol_cnt) n;
CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first);
CREATE INDEX order_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);
VACUUM (FREEZE, ANALYZE);
CHECKPOINT;
