-- Delete a key of ours that holds something else than text: somebody else has put it there.
-- KEYS[1] the key
-- Result: what it was ("list", "set" …); empty when it is text, or gone, by now
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'none' or kind == 'string' then
    return ''
end
redis.call('UNLINK', KEYS[1])
return kind
