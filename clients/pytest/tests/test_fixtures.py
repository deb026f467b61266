"""The fixtures against a real server: `STATOR_BIN=... PYTHONPATH=$PWD pytest tests`."""
import os
import subprocess

import pytest

import stator_pytest

BINARY = os.environ.get("STATOR_BIN", "stator")
TABLE = {
    "TableName": "music", "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "artist", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "artist", "KeyType": "HASH"}],
}


@pytest.mark.parametrize("attempt", [1, 2])
def test_each_test_has_a_server_without_tables(dynamodb_client, attempt):
    assert dynamodb_client.list_tables()["TableNames"] == []
    dynamodb_client.create_table(**TABLE)


def test_resource_writes_and_reads(dynamodb):
    table = dynamodb.create_table(**TABLE)
    table.wait_until_exists()
    table.put_item(Item={"artist": "Nina Simone", "year": 1965})
    assert table.get_item(Key={"artist": "Nina Simone"})["Item"]["year"] == 1965


def test_server_is_the_same_for_the_session(stator, stator_server):
    assert stator is stator_server


def test_clock_moves_if_it_is_manual(stator):
    with pytest.raises(stator_pytest.StatorError, match="409"):
        stator.advance_clock("1h")
    manual = stator_pytest.start(BINARY, "--clock=manual")
    try:
        manual.advance_clock("1h")
    finally:
        manual.stop()
    assert manual.process.returncode == 0


def test_a_server_that_does_not_start_is_reported_with_its_words():
    with pytest.raises(stator_pytest.StatorError, match="--no-such-flag"):
        stator_pytest.start(BINARY, "--no-such-flag")
    with pytest.raises(stator_pytest.StatorError, match="/no/such/binary does not start"):
        stator_pytest.start("/no/such/binary")


def test_settings_choose_flags_and_the_server_ends_with_the_session(pytester):
    pytester.makeini("[pytest]\nstator_flags = --clock=manual\n")
    pytester.makepyfile("""
        def test_it(stator):
            stator.advance_clock("1h")
            open("pid", "w").write(str(stator.process.pid))
    """)
    result = pytester.runpytest_subprocess("-p", "stator_pytest", f"--stator={BINARY}")
    result.assert_outcomes(passed=1)
    pid = (pytester.path / "pid").read_text()
    assert subprocess.run(["ps", "-p", pid], capture_output=True, check=False).returncode == 1


def test_a_named_endpoint_is_used_and_left_running(pytester, monkeypatch):
    server = stator_pytest.start(BINARY)
    try:
        monkeypatch.setenv("STATOR_ENDPOINT", server.endpoint + "/")
        pytester.makepyfile(f"def test_it(stator):\n    assert stator.endpoint == '{server.endpoint}'\n    assert stator.process is None\n")
        pytester.runpytest_subprocess("-p", "stator_pytest", "--stator=/no/such/binary").assert_outcomes(passed=1)
        assert server.process.poll() is None
    finally:
        server.stop()


def test_the_default_account_returns_to_a_snapshot(stator, dynamodb):
    table = dynamodb.create_table(**TABLE)
    table.put_item(Item={"artist": "Nina Simone"})
    stator.snapshot("with Nina")
    table.delete_item(Key={"artist": "Nina Simone"})
    table.put_item(Item={"artist": "Can"})
    stator.restore("with Nina")
    assert table.scan()["Items"] == [{"artist": "Nina Simone"}]
    with pytest.raises(stator_pytest.StatorError, match="404.*no snapshot"):
        stator.restore("with nobody")


def test_accounts_are_apart_and_a_module_returns_before_each_test(pytester):
    pytester.makeini("[pytest]\nstator_flags = --isolate=access-key\n")
    pytester.makepyfile(f"""
        import boto3
        import pytest

        TABLE = {TABLE!r}

        @pytest.fixture(scope="module")
        def filled(stator_module_account):
            client = boto3.client("dynamodb", **stator_module_account.boto3_arguments())
            client.create_table(**TABLE)
            client.put_item(TableName="music", Item={{"artist": {{"S": "Nina Simone"}}}})
            stator_module_account.snapshot()
            return client

        @pytest.fixture
        def music(stator_module_account, filled):
            stator_module_account.restore()
            return filled

        @pytest.mark.parametrize("attempt", range(3))
        def test_begins_with_one_item(music, attempt):
            assert music.scan(TableName="music")["Count"] == 1
            music.put_item(TableName="music", Item={{"artist": {{"S": str(attempt)}}}})
            music.create_table(**dict(TABLE, TableName="more"))

        def test_has_an_account_of_its_own(stator_account, music):
            client = boto3.client("dynamodb", **stator_account.boto3_arguments())
            assert client.list_tables()["TableNames"] == []
            assert music.list_tables()["TableNames"] == ["music"]
    """)
    pytester.runpytest_subprocess("-p", "stator_pytest", f"--stator={BINARY}").assert_outcomes(passed=4)
