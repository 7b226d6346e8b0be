-- How many blocks of the file the raw rows take, how large a block is, and how many rows there are.
WITH segments AS (
    SELECT block_id, additional_block_ids FROM pragma_storage_info('raw.request')
    UNION ALL BY NAME
    SELECT block_id, additional_block_ids FROM pragma_storage_info('raw.counter')
),

used AS (
    SELECT block_id FROM segments
    UNION
    SELECT unnest(additional_block_ids) AS block_id FROM segments
)

SELECT
    (SELECT count(*) FROM used WHERE block_id >= 0) AS blocks,
    (SELECT block_size FROM pragma_database_size()) AS block_bytes,
    (SELECT count(*) FROM raw.request) + (SELECT count(*) FROM raw.counter) AS rows
