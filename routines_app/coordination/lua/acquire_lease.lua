-- Take a lease, or keep it when it is already ours.
-- KEYS[1] the lease; ARGV[1] the owner's token; ARGV[2] time to live in milliseconds
-- Result: 1 taken, 0 somebody else holds it
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then
    return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
