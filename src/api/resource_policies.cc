#include "api/resource_policies.h"

#include "api/render_response.h"
#include "api/render_response_parts.h"
#include "api/schema_parts.h"

namespace stator::api {
namespace {

using ops::DeleteResourcePolicyRequest;
using ops::GetResourcePolicyRequest;
using ops::PutResourcePolicyRequest;

constexpr Type kResourceArn = Text(1, 1283);
constexpr Type kRevisionId = Text(1, 255);

constexpr Field kPutFields[] = {
    Required<&PutResourcePolicyRequest::resource_arn>("ResourceArn", &kResourceArn),
    Required<&PutResourcePolicyRequest::policy>("Policy", &kPlainText),
    Optional<&PutResourcePolicyRequest::expected_revision_id>("ExpectedRevisionId", &kRevisionId),
    Optional<&PutResourcePolicyRequest::confirm_remove_self_resource_access>(
        "ConfirmRemoveSelfResourceAccess", &kBoolean),
};
constexpr Shape kPutShape = MakeShape("PutResourcePolicyInput", kPutFields);
constexpr OperationSchema kPut{"PutResourcePolicy", &kPutShape};

constexpr Field kGetFields[] = {
    Required<&GetResourcePolicyRequest::resource_arn>("ResourceArn", &kResourceArn),
};
constexpr Shape kGetShape = MakeShape("GetResourcePolicyInput", kGetFields);
constexpr OperationSchema kGet{"GetResourcePolicy", &kGetShape};

constexpr Field kDeleteFields[] = {
    Required<&DeleteResourcePolicyRequest::resource_arn>("ResourceArn", &kResourceArn),
    Optional<&DeleteResourcePolicyRequest::expected_revision_id>("ExpectedRevisionId",
                                                                 &kRevisionId),
};
constexpr Shape kDeleteShape = MakeShape("DeleteResourcePolicyInput", kDeleteFields);
constexpr OperationSchema kDelete{"DeleteResourcePolicy", &kDeleteShape};

}  // namespace

template <>
const OperationSchema& SchemaOf<PutResourcePolicyRequest>() {
  return kPut;
}
template <>
const OperationSchema& SchemaOf<GetResourcePolicyRequest>() {
  return kGet;
}
template <>
const OperationSchema& SchemaOf<DeleteResourcePolicyRequest>() {
  return kDelete;
}

void RenderResponse(const ops::PutResourcePolicyResponse& response, std::string* out) {
  ObjectWriter object(out);
  object.Text("RevisionId", response.revision_id);
  object.Close();
}

void RenderResponse(const ops::GetResourcePolicyResponse& response, std::string* out) {
  ObjectWriter object(out);
  object.Text("Policy", response.policy);
  object.Text("RevisionId", response.revision_id);
  object.Close();
}

void RenderResponse(const ops::DeleteResourcePolicyResponse& response, std::string* out) {
  ObjectWriter object(out);
  if (response.revision_id) object.Text("RevisionId", *response.revision_id);
  object.Close();
}

}  // namespace stator::api
