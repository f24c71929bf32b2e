-- Clause 3.3.2, conditions 1 to 4; how many rows break one.
SELECT (SELECT count(*) FROM warehouse
          WHERE w_ytd <> (SELECT sum(d_ytd) FROM district WHERE d_w_id = w_id))
     + (SELECT count(*) FROM district WHERE d_next_o_id - 1 <>
          (SELECT max(o_id) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id))
     + (SELECT count(*) FROM (SELECT max(no_o_id) - min(no_o_id) + 1 - count(*) AS gap FROM new_order
          GROUP BY no_w_id, no_d_id) AS gaps WHERE gap <> 0)
     + (SELECT count(*) FROM (SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS lines FROM orders
          GROUP BY o_w_id, o_d_id) AS o WHERE lines <> (SELECT count(*) FROM order_line
          WHERE ol_w_id = o_w_id AND ol_d_id = o_d_id));
