/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests that make a provider search or fetch are told from all others. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "../../../user/wire/modelapi.h"

static void check_all(const char *const *rows, int wanted)
{
	char what[MODELAPI_WHAT_BYTES];

	for (size_t i = 0; rows[i]; i++) {
		int r = modelapi_check(rows[i], strlen(rows[i]), what);

		if (r != wanted)
			fail_msg("%d (%s): %s", r, what, rows[i]);
		assert_true(!wanted == !what[0] || r < 0);
	}
}

static void hosted_tools_are_found(void **state)
{
	static const char *const rows[] = {/* Anthropic */
		"{\"model\":\"m\",\"tools\":[{\"type\":\"web_search_20250305\",\"name\":\"web_"
		"search\"}]}",
		"{\"tools\":[{\"name\":\"f\",\"input_schema\":{}},{\"type\":\"web_fetch_20260318\"}"
		"]}",
		"{\"tools\":[{\"type\":\"mcp_toolset\",\"mcp_server_name\":\"x\"}]}",
		"{\"mcp_servers\":[{\"type\":\"url\",\"url\":\"https://x\",\"name\":\"n\"}]}",
		"{\"requests\":[{\"custom_id\":\"1\",\"params\":{\"tools\":[{\"type\":"
		"\"web_search_20260209\"}]}}]}",
		"{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"source\":"
		"{\"type\":\"url\",\"url\":\"https://x/?secret\"}}]}]}",
		"{\"messages\":[{\"content\":[{\"type\":\"tool_result\",\"content\":[{\"type\":"
		"\"document\",\"source\":{\"url\":\"https://x\",\"type\":\"url\"}}]}]}]}",
		"{\"tools\":[{\"type\":\"agent_toolset_20260401\"}]}",
		"{\"agent\":\"agent_1\",\"environment_id\":\"env_1\"}",
		/* OpenAI */
		"{\"model\":\"gpt-5\",\"input\":\"x\",\"tools\":[{\"type\":\"web_search\"}]}",
		"{\"tools\":[{\"type\":\"web_search_preview_2025_03_11\"}]}",
		"{\"tools\":[{\"type\":\"web_search_2025_08_26\",\"external_web_access\":false}]}",
		"{\"tools\":[{\"type\":\"mcp\",\"server_url\":\"https://x\"}]}",
		"{\"tools\":[{\"type\":\"namespace\",\"tools\":[{\"type\":\"mcp\"}]}]}",
		"{\"tools\":[{\"type\":\"code_interpreter\",\"container\":{\"type\":\"auto\","
		"\"network_policy\":{\"type\":\"allowlist\",\"allowed_domains\":[\"x\"]}}}]}",
		"{\"name\":\"c\",\"network_policy\":{\"type\":\"allowlist\"}}",
		"{\"model\":\"gpt-4o-search-preview\",\"messages\":[]}",
		"{\"model\":\"o3-deep-research\",\"messages\":[]}",
		"{\"messages\":[],\"web_search_options\":{}}",
		"{\"messages\":[{\"content\":[{\"type\":\"image_url\",\"image_url\":{\"url\":"
		"\"https://x\"}}]}]}",
		"{\"input\":[{\"content\":[{\"type\":\"input_image\",\"image_url\":\"http://"
		"x\"}]}]}",
		"{\"input\":[{\"content\":[{\"type\":\"input_file\",\"file_url\":\"https://"
		"x\"}]}]}",
		"{\"prompt\":{\"id\":\"pmpt_1\"}}",
		"{\"session\":{\"tools\":[{\"type\":\"mcp\",\"server_label\":\"x\"}]}}",
		"{\"input_file_id\":\"file-1\",\"endpoint\":\"/v1/responses\"}",
		/* Gemini */
		"{\"contents\":[],\"tools\":[{\"google_search\":{}}]}",
		"{\"contents\":[],\"tools\":[{\"googleSearch\":{}}]}",
		"{\"tools\":[{\"functionDeclarations\":[],\"urlContext\":{}}]}",
		"{\"tools\":[{\"google_search_retrieval\":{\"dynamic_retrieval_config\":{}}}]}",
		"{\"tools\":{\"googleSearch\":{}}}", "{\"tools\":[{\"googleMaps\":{}}]}",
		"{\"tools\":[{\"retrieval\":{\"externalApi\":{\"endpoint\":\"https://x\"}}}]}",
		"{\"tools\":[{\"searchOfTomorrow\":{}}]}",
		"{\"tools\":[{\"type\":\"google_search\"}]}",
		"{\"agent\":\"deep-research-pro\",\"input\":\"x\"}",
		"{\"contents\":[{\"parts\":[{\"fileData\":{\"fileUri\":\"https://youtube.com/"
		"x\"}}]}]}",
		"{\"batch\":{\"input_config\":{\"file_name\":\"files/1\"}}}",
		"{\"batch\":{\"inputConfig\":{\"requests\":{\"requests\":[{\"request\":{\"tools\":"
		"[{\"url_context\":{}}]}}]}}}}",
		"{\"toolConfig\":{\"tools\":[{\"systemTool\":{\"name\":\"nova_grounding\"}}]}}",
		"{\"model\":\"m\",\"plugins\":[{\"id\":\"web\"}]}",
		"{\"input\":[{\"type\":\"x\",\"additional_tools\":[{\"type\":\"web_search\"}]}]}",
		"{\"webhook_url\":\"https://x\"}",
		/* other spellings of the same */
		"{\"Tools\":[{\"Type\":\"web_search\"}]}",
		"{\"tool\xc5\xbf\":[{\"type\":\"web_search\"}]}",
		"{\"t\\u006fols\":[{\"typ\\u0065\":\"web\\u005fsearch\"}]}",
		"{\"tools\":[{\"type\":\"function\",\"Type\":\"web_search\"}]}",
		"{\"tools\":[{\"type\":[\"web_search\"]}]}", "{\"tools\":[\"web_search\"]}",
		"{\"tools\":\"web_search\"}", "{\"tools\":[{\"GOOGLE-SEARCH\":{}}]}",
		"[{\"tools\":[{\"type\":\"web_search\"}]}]",
		"{\"type\":\"tool_use\",\"input\":[{\"image_url\":\"https://x\"}]}",
		"{\"a\":{\"type\":\"tool_use\",\"Type\":\"x\",\"input\":{\"image_url\":\"https://"
		"x\"}}}",
		NULL};

	(void)state;
	check_all(rows, 1);
}

static void everything_else_passes(void **state)
{
	static const char *const rows[] = {"{}", "[]", "\"x\"", "{\"tools\":[]}",
		"{\"tools\":null}", "{\"mcp_servers\":[]}", "{\"web_search_options\":null}",
		"{\"mcp_servers\":null}",
		"{\"model\":\"claude\",\"max_tokens\":1,\"stream\":true,\"metadata\":{\"user_id\":"
		"\"x\"},"
		"\"tools\":[{\"name\":\"WebSearch\",\"description\":\"web_search\",\"input_"
		"schema\":"
		"{\"type\":\"object\",\"properties\":{\"tools\":{\"type\":\"web_search\"},"
		"\"google_search\":{}}},\"cache_control\":{\"type\":\"ephemeral\"}},"
		"{\"type\":\"custom\",\"name\":\"f\",\"input_schema\":{}},"
		"{\"type\":\"bash_20250124\",\"name\":\"bash\"},"
		"{\"type\":\"text_editor_20250728\",\"name\":\"e\",\"max_characters\":1},"
		"{\"type\":\"computer_20251124\",\"display_width_px\":1},"
		"{\"type\":\"tool_search_tool_bm25_20251119\"},"
		"{\"type\":\"code_execution_20250825\",\"name\":\"c\"}]}",
		"{\"messages\":[{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":"
		"\"1\","
		"\"name\":\"f\",\"input\":{\"tools\":[{\"type\":\"web_search\"}],\"image_url\":"
		"\"https://x\",\"mcp_servers\":[1]}}]},{\"role\":\"user\",\"content\":[{\"type\":"
		"\"tool_result\",\"tool_use_id\":\"1\",\"content\":\"{\\\"tools\\\":1}\"}]}]}",
		"{\"messages\":[{\"content\":[{\"type\":\"image\",\"source\":{\"type\":\"base64\","
		"\"data\":\"aaaa\"}},{\"type\":\"document\",\"source\":{\"type\":\"file\","
		"\"file_id\":\"f\"}}]}]}",
		"{\"model\":\"gpt-5\",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":"
		"\"f\","
		"\"parameters\":{\"web_search\":{}}}},{\"type\":\"function\",\"name\":\"g\","
		"\"parameters\":{\"googleSearch\":{}},\"strict\":true},{\"type\":\"file_search\","
		"\"vector_store_ids\":[\"v\"]},{\"type\":\"code_interpreter\",\"container\":{"
		"\"type\":"
		"\"auto\",\"network_policy\":{\"type\":\"disabled\"}}},{\"type\":\"local_shell\"},"
		"{\"type\":\"custom\",\"name\":\"c\",\"format\":{\"type\":\"grammar\"}},"
		"{\"type\":\"image_generation\"}],\"tool_choice\":\"auto\"}",
		"{\"input\":[{\"type\":\"web_search_call\",\"action\":{\"type\":\"open_page\","
		"\"url\":"
		"\"https://x\"}},{\"content\":[{\"type\":\"input_image\",\"image_url\":"
		"\"data:image/png;base64,aa\"}]}]}",
		"{\"messages\":[{\"content\":[{\"image_url\":{\"url\":\"data:image/"
		"png;base64,a\"}}]}],"
		"\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"n\","
		"\"schema\":{\"tools\":{\"type\":\"web_search\"}}}}}",
		"{\"model\":\"m\",\"prompt\":\"text\"}", "{\"allowed_tools\":[\"web_search\"]}",
		"{\"allowed_tools\":[{\"type\":\"function\",\"name\":\"f\"}]}",
		"{\"toolConfig\":{\"tools\":[{\"toolSpec\":{\"name\":\"f\",\"inputSchema\":{"
		"\"tools\":"
		"[1]}}},{\"cachePoint\":{}}]},\"messages\":[{\"content\":[{\"toolUse\":{\"input\":"
		"{\"tools\":[1]}}}]}]}",
		"{\"contents\":[{\"parts\":[{\"functionCall\":{\"name\":\"f\",\"args\":{\"tools\":"
		"[\"x\"],\"googleSearch\":{}}}},{\"functionResponse\":{\"name\":\"f\",\"response\":"
		"{\"url_context\":{}}}},{\"fileData\":{\"fileUri\":"
		"\"https://generativelanguage.googleapis.com/v1beta/files/a\"}}]}],"
		"\"tools\":[{\"functionDeclarations\":[{\"name\":\"f\",\"parameters\":{"
		"\"properties\":"
		"{\"google_search\":{}}}}]},{\"codeExecution\":{}}],\"generationConfig\":"
		"{\"responseSchema\":{\"properties\":{\"tools\":{}}}}}",
		NULL};

	(void)state;
	check_all(rows, 0);
}

static void what_cannot_be_read_is_told(void **state)
{
	static const char *const rows[] = {"", "tools", "{\"tools\":[],\"tools\":[]}", "{}{}",
		"--x\r\nContent-Disposition: form-data\r\n", NULL};

	(void)state;
	check_all(rows, -EBADMSG);
}

static void uploads_are_known_by_path(void **state)
{
	static const struct {
		const char *path;
		bool is_multipart, is_upload;
	} rows[] = {
		{"/v1/files", true, true},
		{"/v1/files/", true, true},
		{"/v1/files", false, false},
		{"/v1/audio/transcriptions", true, true},
		{"/upload/v1beta/files", false, true},
		{"/v1/messages", true, false},
		{"/v1/realtime/calls", true, false},
		{"/v1/responses", true, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(modelapi_is_upload(
					 rows[i].path, strlen(rows[i].path), rows[i].is_multipart),
			rows[i].is_upload);
}

static void errors_have_the_shape_of_their_api(void **state)
{
	static const struct {
		const char *path, *error;
	} rows[] = {
		{"/v1/messages",
			"{\"type\":\"error\",\"error\":{\"type\":\"permission_error\",\"message\":"
			"\"a\\\"b\"}}"},
		{"/v1/messages/batches",
			"{\"type\":\"error\",\"error\":{\"type\":\"permission_error\",\"message\":"
			"\"a\\\"b\"}}"},
		{"/v1/chat/completions",
			"{\"error\":{\"message\":\"a\\\"b\",\"type\":\"invalid_request_error\","
			"\"param\":\"tools\",\"code\":\"hosted_tools_denied\"}}"},
		{"/v1beta/openai/chat/completions",
			"{\"error\":{\"message\":\"a\\\"b\",\"type\":\"invalid_request_error\","
			"\"param\":\"tools\",\"code\":\"hosted_tools_denied\"}}"},
		{"/v1beta/models/gemini:streamGenerateContent",
			"{\"error\":{\"code\":403,\"message\":\"a\\\"b\",\"status\":"
			"\"PERMISSION_DENIED\"}}"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf b;

		buf_init(&b);
		modelapi_print_error(modelapi_of(rows[i].path, strlen(rows[i].path)), "a\"b", &b);
		assert_string_equal(b.data, rows[i].error);
		buf_done(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosted_tools_are_found),
		cmocka_unit_test(everything_else_passes),
		cmocka_unit_test(what_cannot_be_read_is_told),
		cmocka_unit_test(uploads_are_known_by_path),
		cmocka_unit_test(errors_have_the_shape_of_their_api),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
