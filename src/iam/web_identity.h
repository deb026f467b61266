// Calls that no signature vouches for but the token of an OpenID Connect provider. Internal to the
// room.
#pragma once

#include "access/verifier.h"
#include "access/web_token.h"
#include "base/result.h"
#include "iam/form.h"
#include "iam/provider_keys.h"
#include "identity/identities.h"

namespace stator::iam {

struct ClaimedIdentity {
  access::WebToken token;
  access::OidcProvider provider;
};

// Returns what the form's WebIdentityToken claims, if a stored provider could have issued it for
// one of its client ids and it is valid now. Its signature is not looked at.
Result<ClaimedIdentity> ReadClaimed(const Form& form, const identity::Identities& identities);
// Returns the principal of a token whose signature one of the provider's known keys verifies.
Result<access::VerifiedRequest> VerifyToken(const Form& form,
                                            const identity::Identities& identities,
                                            const ProviderKeys& keys);

}  // namespace stator::iam
