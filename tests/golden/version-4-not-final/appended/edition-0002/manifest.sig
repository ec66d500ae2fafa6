{
  "format": "versadp signature",
  "version": 1,
  "key": "ed25519:05ea4b7c3689fb2bc1c750ba22b2a0ee8fd9c37272ecd91ef060087970f9b129",
  "signatures": [
    "4415e4b6ac3a6752ee5c1ef3f06abd9ed30d5dbc8f0e0ece00e1c2e39748c0e7957dc49df9a8d65459f722386f7c951da8fb27d9aac0422605f3118a0a3ee404"
  ]
}
