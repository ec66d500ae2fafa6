{
  "format": "versadp signature",
  "version": 1,
  "key": "ed25519:05ea4b7c3689fb2bc1c750ba22b2a0ee8fd9c37272ecd91ef060087970f9b129",
  "signatures": [
    "b4cca63022a9ad38fffb3fe261cade8269af2182f0cc5f3d669e96167ae6002d8c9a1e1914a54a4f503189f4e73e6882f646654182d8cb3f5d784490f6dbcc02"
  ]
}
