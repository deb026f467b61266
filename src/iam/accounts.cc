// Accounts: namespaces of tables and of identities beside the default one. Calls of Stator's own.
#include "access/identity.h"
#include "iam/call.h"
#include "ops/table_settings.h"

namespace stator::iam {
namespace {

using access::Account;
using access::Records;

constexpr size_t kMostAccounts = 10'000;
constexpr size_t kMaxAlias = 63;

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

Account* Find(std::vector<Account>* accounts, std::string_view id) {
  const auto found = std::find_if(accounts->begin(), accounts->end(),
                                  [id](const Account& one) { return one.id == id; });
  return found == accounts->end() ? nullptr : &*found;
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
  if (!account.alias.empty() && !access::IsIdentityName(account.alias, kMaxAlias)) {
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
  TRY(call.identities.Change([&](Records* records) -> Status {
    if (account.id == call.identities.account() || Find(&records->accounts, account.id) != nullptr)
      return EntityAlreadyExists(
          fmt::format("The account {} exists already, or did once.", account.id));
    size_t count = 0;
    for (const Account& one : records->accounts) count += one.deleted() ? 0 : 1;
    if (count >= kMostAccounts)
      return LimitExceeded(fmt::format("Cannot exceed quota for Accounts: {}", kMostAccounts));
    records->accounts.push_back(account);
    records->keys.push_back(key);
    return OkStatus();
  }));
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
  std::vector<const Account*> list;
  for (const Account& account : call.directory->records().accounts) {
    if (!account.deleted() && account.id != call.identities.account()) list.push_back(&account);
  }
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
  table::Store& store = call.check.env().store;
  TRY(store.Refresh());
  TRY(call.identities.Change([&](Records* records) -> Status {
    Account* const found = Find(&records->accounts, id);
    if (found == nullptr || found->deleted()) return missing();
    if (!store.ListOf(id, {}, 1).empty())
      return DeleteConflict("Cannot delete an account, must delete its tables first.");
    EraseRecords(records, [&id](const auto& one) { return one.account == id; });
    found->alias = Account::kDeleted;
    return OkStatus();
  }));
  return std::string();
}

}  // namespace

std::vector<Row> AccountRows() {
  return {{"CreateAccount", CreateAccount},
          {"DeleteAccount", DeleteAccount},
          {"ListAccounts", ListAccounts}};
}

}  // namespace stator::iam
