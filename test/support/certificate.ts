/** A certificate that a server on this machine signs itself, and its key, for tests alone. */
export const CERTIFICATE: { readonly key: string; readonly cert: string } = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgWg2bh+24bCVHEbqG
37RJFu4Wif8aju3yEnKaG+tbYwyhRANCAARd0kLvQQaW+VT+b6RE3xf/qWlWjxpw
5CwtoqsYvOgPUQoj+1TCF7fvuurPNlk1LevQ+k+QsNncZ7e8wYd86l8F
-----END PRIVATE KEY-----
`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBmjCCAUGgAwIBAgIUcLZz9bjI+Y2LcQGfgCmQxY+ibfwwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyODEzMjQzN1oYDzIxMjYxMTA0
MTMyNDM3WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARd0kLvQQaW+VT+b6RE3xf/qWlWjxpw5CwtoqsYvOgPUQoj+1TCF7fv
uurPNlk1LevQ+k+QsNncZ7e8wYd86l8Fo28wbTAdBgNVHQ4EFgQU16xSylZyDtdh
LoKxZ8Zz1eDBoyYwHwYDVR0jBBgwFoAU16xSylZyDtdhLoKxZ8Zz1eDBoyYwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDRwAwRAIgAoh8lY16x1GKP9YKmv/7NbW0CO+N2mZhwNnAzRjT84QCID7P
nnl6UcBHkwyqf2PnYvp7sDlFs5zWbTj8QMxqFzns
-----END CERTIFICATE-----
`,
}
