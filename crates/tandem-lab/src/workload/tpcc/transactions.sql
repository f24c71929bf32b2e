-- TPC-C revision 5.11, clauses 2.4 to 2.8. The seed decides all of a transaction's choices.

CREATE FUNCTION a_customer(w int, d int, customers int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE found int[]; name text;
BEGIN
  IF random() >= 0.6 THEN
    RETURN nurand(1023, 1, customers, 259);
  END IF;
  -- By name: the one in the middle, sorted by first name.
  name := surname(nurand(255, 0, least(999, customers - 1), 223));
  SELECT array_agg(c_id ORDER BY c_first) INTO found FROM customer
    WHERE c_w_id = w AND c_d_id = d AND c_last = name;
  RETURN found[(array_length(found, 1) + 1) / 2];
END $$;

CREATE FUNCTION new_order(w int, warehouses int, customers int, items int, seed float8)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  d int; c int; o int; n int; taxes numeric; discount numeric; line record; price numeric;
  info text; number int := 0; choices int[]; remote int;
BEGIN
  PERFORM setseed(seed);
  d := pick(1, 10); c := nurand(1023, 1, customers, 259); n := pick(5, 15);
  SELECT array_agg(nurand(8191, 1, items, 7911)) INTO choices FROM generate_series(1, n);
  IF pick(1, 100) = 1 THEN
    choices[n] := items + 1;
  END IF;
  remote := CASE WHEN warehouses > 1 THEN pick(1, warehouses - 1) ELSE 0 END;
  SELECT w_tax INTO STRICT taxes FROM warehouse WHERE w_id = w;
  UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = w AND d_id = d
    RETURNING d_next_o_id - 1, taxes + d_tax INTO o, taxes;
  SELECT c_discount INTO STRICT discount FROM customer WHERE c_w_id = w AND c_d_id = d AND c_id = c;
  INSERT INTO orders VALUES (w, d, o, c, now(), NULL, n, 1);
  INSERT INTO new_order VALUES (w, d, o);
  -- In the order of items, so that no two transactions wait for each other; the one that is not
  -- there comes last.
  FOR line IN SELECT i, pick(1, 10) AS quantity, CASE WHEN remote > 0 AND pick(1, 100) = 1
      THEN (w + remote - 1) % warehouses + 1 ELSE w END AS supply
      FROM unnest(choices) i ORDER BY i, 3 LOOP
    number := number + 1;
    SELECT i_price INTO STRICT price FROM item WHERE i_id = line.i;
    UPDATE stock SET s_ytd = s_ytd + line.quantity, s_order_cnt = s_order_cnt + 1,
      s_remote_cnt = s_remote_cnt + (line.supply <> w)::int,
      s_quantity = s_quantity - line.quantity + CASE WHEN s_quantity < line.quantity + 10 THEN 91 ELSE 0 END
      WHERE s_w_id = line.supply AND s_i_id = line.i RETURNING s_dist[d] INTO STRICT info;
    IF line.supply <> w THEN
      UPDATE orders SET o_all_local = 0 WHERE o_w_id = w AND o_d_id = d AND o_id = o AND o_all_local = 1;
    END IF;
    INSERT INTO order_line VALUES (w, d, o, number, line.i, line.supply, NULL, line.quantity,
      line.quantity * price, info);
  END LOOP;
  RETURN true;
EXCEPTION WHEN no_data_found THEN
  -- Clause 2.4.1.4: one in a hundred is rolled back.
  RETURN false;
END $$;

CREATE FUNCTION payment(w int, warehouses int, customers int, seed float8)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE d int; c int; cw int; cd int; amount numeric; names text;
BEGIN
  PERFORM setseed(seed);
  d := pick(1, 10); amount := pick(100, 500000) / 100.0; cw := w; cd := d;
  IF warehouses > 1 AND pick(1, 100) > 85 THEN
    cw := (w + pick(1, warehouses - 1) - 1) % warehouses + 1; cd := pick(1, 10);
  END IF;
  c := a_customer(cw, cd, customers);
  UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = w RETURNING w_name INTO STRICT names;
  UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = w AND d_id = d
    RETURNING names || '    ' || d_name INTO STRICT names;
  UPDATE customer SET c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount,
    c_payment_cnt = c_payment_cnt + 1, c_data = CASE WHEN c_credit = 'BC' THEN
      substr(concat_ws(' ', c, cd, cw, d, w, amount, c_data), 1, 500) ELSE c_data END
    WHERE c_w_id = cw AND c_d_id = cd AND c_id = c RETURNING c INTO STRICT c;
  INSERT INTO history VALUES (c, cd, cw, d, w, now(), amount, names);
END $$;

CREATE FUNCTION order_status(w int, customers int, seed float8) RETURNS int LANGUAGE plpgsql AS $$
DECLARE d int; c int; o int; balance numeric; lines int;
BEGIN
  PERFORM setseed(seed);
  d := pick(1, 10); c := a_customer(w, d, customers);
  SELECT c_balance INTO STRICT balance FROM customer WHERE c_w_id = w AND c_d_id = d AND c_id = c;
  SELECT o_id INTO STRICT o FROM orders WHERE o_w_id = w AND o_d_id = d AND o_c_id = c
    ORDER BY o_id DESC LIMIT 1;
  SELECT count(ol_amount) INTO lines FROM order_line WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
  RETURN lines;
END $$;

CREATE FUNCTION delivery(w int, seed float8) RETURNS int LANGUAGE plpgsql AS $$
DECLARE o int; c int; amount numeric; carrier int; done int := 0;
BEGIN
  PERFORM setseed(seed);
  carrier := pick(1, 10);
  FOR d IN 1..10 LOOP
    DELETE FROM new_order WHERE no_w_id = w AND no_d_id = d AND no_o_id = (SELECT no_o_id
      FROM new_order WHERE no_w_id = w AND no_d_id = d ORDER BY no_o_id LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING no_o_id INTO o;
    CONTINUE WHEN o IS NULL;
    UPDATE orders SET o_carrier_id = carrier WHERE o_w_id = w AND o_d_id = d AND o_id = o
      RETURNING o_c_id INTO STRICT c;
    UPDATE order_line SET ol_delivery_d = now() WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
    SELECT sum(ol_amount) INTO STRICT amount FROM order_line
      WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
    UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
      WHERE c_w_id = w AND c_d_id = d AND c_id = c;
    done := done + 1;
  END LOOP;
  RETURN done;
END $$;

CREATE FUNCTION stock_level(w int, seed float8) RETURNS int LANGUAGE plpgsql AS $$
DECLARE d int; low int; next int; threshold int;
BEGIN
  PERFORM setseed(seed);
  d := pick(1, 10); threshold := pick(10, 20);
  SELECT d_next_o_id INTO STRICT next FROM district WHERE d_w_id = w AND d_id = d;
  SELECT count(DISTINCT s_i_id) INTO low FROM order_line, stock WHERE ol_w_id = w AND ol_d_id = d
    AND ol_o_id >= next - 20 AND ol_o_id < next AND s_w_id = w AND s_i_id = ol_i_id
    AND s_quantity < threshold;
  RETURN low;
END $$;
