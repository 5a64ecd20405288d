-- Give a lease back; one that is not ours is left alone.
-- KEYS[1] the lease; ARGV[1] the owner's token
-- Result: 1 released, 0 it was not ours
if redis.call('GET', KEYS[1]) == ARGV[1] then
    return redis.call('DEL', KEYS[1])
end
return 0
