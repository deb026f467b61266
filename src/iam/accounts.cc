// Accounts: namespaces of tables and of identities beside the default one. Calls of Stator's own.
#include "access/identity.h"
#include "iam/call.h"
#include "ops/new_table.h"
#include "ops/table_settings.h"

namespace stator::iam {
namespace {

using access::Account;
using access::Records;

constexpr size_t kMostAccounts = 10'000;
// With those that were deleted, whose records stay.
constexpr size_t kMostIds = 100'000;

Status CheckCaller(Call& call) {
  if (call.account() == call.identities.account()) return OkStatus();
  return Error(ErrorCode::kAccessDenied,
               "Accounts are made, listed and deleted with a key of the default account.");
}

std::string Render(const Account& account, std::string_view element) {
  return Xml()
      .Open(element)
      .Element("AccountId", account.id)
      .Element("AccountName", account.alias)
      .Element("CreateDate", Time(account.created_micros))
      .Close(element)
      .Take();
}

// Twelve digits that do not begin with a zero.
std::string NewAccountId(access::SecureRandom* random) {
  uint64_t value = 0;
  for (const char c : random->Bytes(8)) value = value << 8 | static_cast<unsigned char>(c);
  return std::to_string(100'000'000'000 + value % 900'000'000'000);
}

Result<std::string> CreateAccount(Call& call) {
  TRY(CheckCaller(call));
  access::SecureRandom& random = call.identities.random();
  const auto given = call.form.Find("AccountId");
  Account account;
  account.id = given ? std::string(*given) : NewAccountId(&random);
  account.alias = call.form.Get("AccountName");
  account.created_micros = call.now();
  if (!access::IsAccountId(account.id))
    return InvalidInput("The specified value for accountId is not twelve digits.");
  if (!account.alias.empty() && !access::IsIdentityName(account.alias, access::kMaxAccountName)) {
    return InvalidInput(
        "The specified value for accountName is not 1 to 63 letters, digits and _+=,.@-");
  }
  access::AccessKey key;
  key.id = access::NewId("AKIA", 20, &random);
  key.account = account.id;
  key.created_micros = account.created_micros;
  const std::string secret = access::NewSecret(&random);
  key.sealed_secret =
      call.identities.keyring().Seal(secret, access::SecretPurpose(key.id), &random);
  // A version that knows no accounts would take its names as the default's.
  TRY(ops::RequireAccounts(call.check.env()));
  const auto create = [&](Records* records) -> Status {
    if (account.id == call.identities.account() || !records->accounts.empty())
      return EntityAlreadyExists(
          fmt::format("The account {} exists already, or did once.", account.id));
    if (call.identities.CountAccounts() >= kMostAccounts)
      return LimitExceeded(fmt::format("Cannot exceed quota for Accounts: {}", kMostAccounts));
    if (call.identities.CountAccounts() + call.identities.CountDeletedAccounts() >= kMostIds) {
      return LimitExceeded(fmt::format(
          "Cannot exceed quota for Accounts, those that were deleted included: {}", kMostIds));
    }
    records->accounts.push_back(account);
    records->keys.push_back(key);
    return OkStatus();
  };
  TRY(call.identities.Change(account.id, create));
  return Xml()
      .Append(Render(account, "Account"))
      .Open("AccessKey")
      .Element("AccessKeyId", key.id)
      .Element("SecretAccessKey", secret)
      .Close("AccessKey")
      .Take();
}

Result<std::string> ListAccounts(Call& call) {
  TRY(CheckCaller(call));
  const std::vector<Account> accounts = call.identities.Accounts();
  std::vector<const Account*> list;
  for (const Account& account : accounts) list.push_back(&account);
  return RenderPage<Account>(
      call.form, "Accounts", std::move(list), [](const Account& account) { return account.id; },
      [](const Account& account) { return Render(account, "member"); });
}

// Deletes an account that has no tables, with its identities. Its id is never given again, because
// backups may have it.
Result<std::string> DeleteAccount(Call& call) {
  TRY(CheckCaller(call));
  const std::string id(call.form.Get("AccountId"));
  const auto missing = [&id] {
    return NoSuchEntity(fmt::format("The account {} cannot be found.", id));
  };
  if (!access::IsAccountId(id) || id == call.identities.account()) return missing();
  if (call.identities.IsDeclaredAccount(id))
    return DeleteConflict(
        "Cannot delete an account that is declared where the server was started.");
  table::Store& store = call.check.env().store;
  TRY(store.Refresh());
  const auto erase = [&](Records* records) -> Status {
    if (records->accounts.empty() || records->accounts.front().deleted()) return missing();
    if (!store.ListOf(id, {}, 1).empty())
      return DeleteConflict("Cannot delete an account, must delete its tables first.");
    Records rest;
    rest.accounts = std::move(records->accounts);
    rest.accounts.front().alias = Account::kDeleted;
    *records = std::move(rest);
    return OkStatus();
  };
  TRY(call.identities.Change(id, erase));
  // A table that was made since then: see ops/new_table.h.
  TRY(store.Refresh());
  for (const table::TablePtr& table : store.ListOf(id)) TRY(ops::DropAndWait(store, *table));
  return std::string();
}

}  // namespace

std::vector<Row> AccountRows() {
  return {{"CreateAccount", CreateAccount},
          {"DeleteAccount", DeleteAccount},
          {"ListAccounts", ListAccounts}};
}

}  // namespace stator::iam
