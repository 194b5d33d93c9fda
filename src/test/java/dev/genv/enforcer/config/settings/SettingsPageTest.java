package dev.genv.enforcer.config.settings;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.GeneratedSection;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Properties;
import org.junit.jupiter.api.Test;

/** The reference page lists every setting with the Javadoc, the bounds and the default of the code. */
class SettingsPageTest {
    private static final Path PAGE = Path.of("src/site/markdown/settings.md");
    private static final Path APPLICATION = Path.of("src/main/resources/application.properties");

    @Test
    void listsEverySettingInTheOrderOfTheCode() throws IOException {
        var groups = new ArrayList<DocumentedGroup>();
        for (var group : SettingsReader.GROUPS) {
            groups.add(DocumentedGroup.of(group));
        }
        groups.add(1, DocumentedGroup.ofRules());
        var page = new StringBuilder();
        groups.forEach(group -> page.append("\n## ").append(group.toMarkdown()));
        GeneratedSection.assertSection(PAGE, "settings", page.append('\n').toString());
    }

    /** Quarkus reads these defaults from the file, not from the mapping. */
    @Test
    void namesTheDefaultsThatQuarkusUses() throws IOException {
        var application = new Properties();
        application.load(new StringReader(Files.readString(APPLICATION)));
        var checked = new ArrayList<String>();
        for (var group : SettingsReader.GROUPS) {
            group.getProperties().forEach((name, otherwise) -> {
                if (name.startsWith("quarkus.")) {
                    checked.add(name);
                    assertThat(application.getProperty(name)).as(name).isEqualTo(otherwise);
                }
            });
        }
        assertThat(checked).hasSize(5);
    }

    /** Two properties of one variable could not be told apart. */
    @Test
    void everySettingHasAVariableOfItsOwn() {
        var variables = new ArrayList<>(RuleSettings.variables());
        SettingsReader.GROUPS.forEach(group -> SettingsReader.properties(group).keySet().stream()
                .map(Variables::nameOf)
                .forEach(variables::add));
        assertThat(variables).hasSizeGreaterThan(40).doesNotHaveDuplicates();
    }
}
